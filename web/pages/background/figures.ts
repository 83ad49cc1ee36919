const FINE = new Intl.NumberFormat(undefined, { maximumFractionDigits: 4 });
const COARSE = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
const SHARE = new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: 1 });

/** A formatted number; "-" for null. */
export const figure = (value: number | null): string =>
  value === null ? "-" : (Math.abs(value) < 100 ? FINE : COARSE).format(value);
/** A fraction as a percentage. */
export const share = (value: number | null): string => (value === null ? "-" : SHARE.format(value));
/** A difference with its sign, formatted by `figure` or `share`. */
export const difference = (value: number | null, inWords = figure): string =>
  (value !== null && value > 0 ? "+" : "") + inWords(value);
