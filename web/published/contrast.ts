type Rgb = readonly [red: number, green: number, blue: number];

const WHITE: Rgb = [255, 255, 255];
const BLACK: Rgb = [0, 0, 0];
/** Backgrounds on which the colour is read as text: the lightest and darkest surface of each theme (theme/tokens.css). */
const GROUNDS: Readonly<Record<"light" | "dark", readonly Rgb[]>> = {
  light: [WHITE, [238, 240, 243]],
  dark: [
    [10, 13, 17],
    [29, 37, 48],
  ],
};
/** WCAG 2.2 level AA for text, with a margin for rounding. */
const READABLE = 4.6;
const STEPS = 40;

/** A colour given as `#rrggbb`; null if it is anything else. */
function rgbOf(colour: string): Rgb | null {
  const [, red, green, blue] = /^#([\da-f]{2})([\da-f]{2})([\da-f]{2})$/i.exec(colour) ?? [];
  if (red === undefined || green === undefined || blue === undefined) return null;
  return [Number.parseInt(red, 16), Number.parseInt(green, 16), Number.parseInt(blue, 16)];
}

function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map((channel) => {
    const part = channel / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as unknown as Rgb;
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: Rgb, other: Rgb): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

const mix = (from: Rgb, to: Rgb, part: number): Rgb =>
  from.map((channel, at) => Math.round(channel + ((to[at] ?? 0) - channel) * part)) as unknown as Rgb;

const hex = (colour: Rgb): string => `#${colour.map((channel) => channel.toString(16).padStart(2, "0")).join("")}`;

/**
 * The nearest shade of a colour that can be read on the surfaces of a theme, and the colour of text on it. Null if
 * `colour` is not `#rrggbb`.
 */
export function readable(colour: string, theme: "light" | "dark"): { accent: string; onAccent: string } | null {
  const given = rgbOf(colour);
  if (given === null) return null;
  const towards = theme === "light" ? BLACK : WHITE;
  const isReadable = (shade: Rgb): boolean => GROUNDS[theme].every((ground) => contrast(shade, ground) >= READABLE);
  let shade = given;
  for (let step = 1; !isReadable(shade) && step <= STEPS; step += 1) shade = mix(given, towards, step / STEPS);
  const onAccent = contrast(shade, WHITE) >= contrast(shade, BLACK) ? WHITE : BLACK;
  return { accent: hex(shade), onAccent: hex(onAccent) };
}
