// Light or dark: follows the system until somebody chooses; the choice is kept where the browser allows it.

export interface Themes { toggle: () => void; listen: (draw: () => void) => void }

export function themes(): Themes {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const draws: (() => void)[] = [];
  const set = (mode: string | null): void => {
    if (mode) document.documentElement.dataset["theme"] = mode;
    for (const draw of draws) draw();
  };
  try {
    set(localStorage.getItem("talea-theme"));
  } catch {
    // Storage is refused for some files opened from disk; the system's choice stands.
  }
  system.addEventListener("change", () => set(null));
  return {
    listen: (draw) => draws.push(draw),
    toggle: () => {
      const now = document.documentElement.dataset["theme"] ?? (system.matches ? "dark" : "light");
      const next = now === "dark" ? "light" : "dark";
      set(next);
      try {
        localStorage.setItem("talea-theme", next);
      } catch {
        // As above.
      }
    },
  };
}
