//! One line of the logger: a call and its `key=value` arguments.

/// A call as the logger wrote it.
pub(super) struct Line {
    /// From 1.
    pub(super) number: usize,
    pub(super) call: String,
    pub(super) args: Vec<(String, String)>,
    /// How often the same unsuccessful poll was repeated (`times=n`, written with `LOGGER_FOLD`).
    pub(super) times: u64,
    pub(super) text: String,
}

impl Line {
    /// The error begins with the line's number.
    pub(super) fn parse(number: usize, text: &str) -> Result<Self, String> {
        let mut words = text.split(' ');
        let call = words.next().filter(|c| c.starts_with("MPI_"));
        let call =
            call.ok_or_else(|| format!("{number}: expected a call, found `{text}`"))?.to_owned();
        let mut args = Vec::new();
        let mut times = 1;
        for word in words {
            let (key, value) = word
                .split_once('=')
                .ok_or_else(|| format!("{number}: expected key=value, found `{word}`"))?;
            if key == "times" {
                times = value
                    .parse()
                    .map_err(|_| format!("{number}: expected a number, found `{word}`"))?;
            } else {
                args.push((key.to_owned(), value.to_owned()));
            }
        }
        Ok(Self { number, call, args, times, text: text.to_owned() })
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.args.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
    }

    /// The entries of a list.
    pub(super) fn list(&self, key: &str) -> Option<Vec<&str>> {
        let entries = self.get(key)?.strip_prefix('[')?.strip_suffix(']')?;
        Some(if entries.is_empty() { Vec::new() } else { entries.split(',').collect() })
    }

    pub(super) fn is_unsuccessful_poll(&self) -> bool {
        is_poll(&self.call) && (self.get("flag") == Some("0") || self.get("outcount") == Some("0"))
    }

    /// Every request that this call may have meant.
    pub(super) fn requests(&self) -> impl Iterator<Item = &str> {
        let text = self.get("array_of_requests").or_else(|| self.get("request")).unwrap_or("");
        text.trim_matches(['[', ']']).split([',', '|'])
    }
}

/// Calls that may come back without anything done.
pub(super) fn is_poll(call: &str) -> bool {
    matches!(
        call,
        "MPI_Test"
            | "MPI_Testall"
            | "MPI_Testany"
            | "MPI_Testsome"
            | "MPI_Iprobe"
            | "MPI_Improbe"
            | "MPI_Request_get_status"
    )
}
