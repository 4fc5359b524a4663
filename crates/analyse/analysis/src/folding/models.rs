//! Models that combine counters: the default ones where their counters are available, and the
//! user's own.
//!
//! Owns their list and the text `NAME = EXPRESSION`. Arithmetic on curves and their bands is
//! `talea_fold::combine`'s, the language `talea_metric::expression`'s; counters in an expression
//! stand for their rates a second.

use talea_fold::{CombineError, Curve, combine};
use talea_metric::{Expression, suggest};
use talea_report::data::folded::{FoldedBand, FoldedModel};

/// Misses and mispredictions, which are given per instruction.
const BY_INSTRUCTIONS: [&str; 6] =
    ["PAPI_L1_DCM", "PAPI_L2_DCM", "PAPI_L2_TCM", "PAPI_L3_TCM", "LLC_MISSES", "PAPI_BR_MSP"];

/// One model.
#[derive(Clone, Debug)]
pub(super) struct Model {
    name: String,
    text: String,
    unit: String,
    expression: Expression,
}

/// Errors of models.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The expression.
    #[error("{wrong}, at character {at} of the model `{text}`")]
    Expression {
        /// The error of the expression.
        wrong: talea_metric::ExpressionError,
        /// Its place, from 1.
        at: usize,
        /// The expression.
        text: String,
    },
    /// An expression without counters.
    #[error("expected a counter in the model `{0}`")]
    Constant(String),
    /// A counter that is not folded.
    #[error(
        "expected a counter that is folded, found `{counter}` in the model `{model}`{}",
        nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
    )]
    Counter {
        /// Its name.
        counter: String,
        /// The model's name.
        model: String,
        /// A similar name.
        nearest: Option<String>,
    },
    /// An error of combining curves.
    #[error("{source}: the model `{model}`")]
    Combine {
        /// The error.
        source: CombineError,
        /// The model's name.
        model: String,
    },
}

impl Model {
    /// Reads `NAME = EXPRESSION`, or an expression, whose text is then its name.
    pub(super) fn parse(text: &str) -> Result<Self, ModelError> {
        let (name, body) = text.split_once('=').map_or((text, text), |(name, body)| (name, body));
        let (name, body) = (name.trim(), body.trim());
        let expression = Expression::parse(body).map_err(|wrong| ModelError::Expression {
            at: body.get(..wrong.span.start).map_or(0, |before| before.chars().count()) + 1,
            wrong,
            text: body.to_owned(),
        })?;
        let name = if name.is_empty() { body } else { name };
        if expression.counters().is_empty() {
            return Err(ModelError::Constant(name.to_owned()));
        }
        Ok(Self { name: name.to_owned(), text: body.to_owned(), unit: String::new(), expression })
    }

    fn usual(name: &str, text: &str, unit: &str) -> Option<Self> {
        let expression = Expression::parse(text).ok()?;
        Some(Self {
            name: name.to_owned(),
            text: text.to_owned(),
            unit: unit.to_owned(),
            expression,
        })
    }
}

/// The default models whose counters are all among `known`.
fn usual(known: &[&str]) -> Vec<Model> {
    let mut found = vec![
        Model::usual("MIPS", "PAPI_TOT_INS / 1e6", "MIPS"),
        Model::usual("IPC", "PAPI_TOT_INS / PAPI_TOT_CYC", "instr./cycle"),
        Model::usual("Clock", "PAPI_TOT_CYC / 1e9", "GHz"),
    ];
    for counter in BY_INSTRUCTIONS {
        let name = format!("{counter} per 1000 instr.");
        found.push(Model::usual(&name, &format!("1000 * {counter} / PAPI_TOT_INS"), ""));
    }
    let all = |model: &Model| {
        model.expression.counters().iter().all(|counter| known.contains(&counter.as_str()))
    };
    found.into_iter().flatten().filter(all).collect()
}

/// Refuses models whose counters are not among those of `curves`.
pub(super) fn check(own: &[Model], curves: &[(u32, Curve)]) -> Result<(), ModelError> {
    let known = || curves.iter().map(|one| one.1.counter.as_str());
    for model in own {
        let lacks = |counter: &&String| known().all(|one| one != counter.as_str());
        if let Some(counter) = model.expression.counters().iter().find(lacks) {
            let nearest = suggest(counter, known());
            let (counter, model) = (counter.clone(), model.name.clone());
            return Err(ModelError::Counter { counter, model, nearest });
        }
    }
    Ok(())
}

/// The user's models, then the default ones that the user did not define; those whose counters are
/// not all available are left out.
pub(super) fn evaluate(
    own: &[Model],
    curves: &[(u32, Curve)],
) -> Result<Vec<FoldedModel>, ModelError> {
    let known: Vec<&str> = curves.iter().map(|one| one.1.counter.as_str()).collect();
    let usual = usual(&known);
    let new = usual.iter().filter(|model| !own.iter().any(|other| other.name == model.name));
    let mut found = Vec::new();
    for model in own.iter().chain(new) {
        let curve = |counter: &String| curves.iter().find(|one| one.1.counter == *counter);
        let counters = model.expression.counters().iter();
        let Some(wanted) = counters.map(|one| Some(&curve(one)?.1)).collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        let band = combine(&wanted, |rates| model.expression.eval(rates))
            .map_err(|source| ModelError::Combine { source, model: model.name.clone() })?;
        let means: Vec<f64> = wanted.iter().map(|curve| curve.per_second()).collect();
        found.push(FoldedModel {
            name: model.name.clone(),
            expression: model.text.clone(),
            unit: model.unit.clone(),
            mean: model.expression.eval(&means),
            curve: FoldedBand { value: band.value, low: band.low, high: band.high },
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_have_a_name_or_are_their_own() {
        let named = Model::parse("IPC = PAPI_TOT_INS / PAPI_TOT_CYC").unwrap();
        assert_eq!(
            (named.name.as_str(), named.text.as_str()),
            ("IPC", "PAPI_TOT_INS / PAPI_TOT_CYC")
        );
        assert_eq!(Model::parse("a / b").unwrap().name, "a / b");
        assert_eq!(
            Model::parse("x = a + ").unwrap_err().to_string(),
            "expected a number, a counter or `(`, found the end, at character 4 of the model `a +`"
        );
        let constant = Model::parse("x = 2 + 3").unwrap_err().to_string();
        assert_eq!(constant, "expected a counter in the model `x`");
    }

    #[test]
    fn usual_models_need_their_counters() {
        let names =
            |known: &[&str]| usual(known).into_iter().map(|model| model.name).collect::<Vec<_>>();
        assert_eq!(names(&["PAPI_TOT_INS"]), ["MIPS"]);
        assert_eq!(
            names(&["PAPI_TOT_INS", "PAPI_TOT_CYC", "LLC_MISSES"]),
            ["MIPS", "IPC", "Clock", "LLC_MISSES per 1000 instr."]
        );
    }
}
