// Colours of the page for a canvas, which knows no style sheets.

/** The colour of this name in the light or dark page as it is now. */
export function ink(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
