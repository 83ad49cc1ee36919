import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readable } from "../../web/published/contrast.ts";

/** Relative luminance by WCAG 2.2. */
function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const contrast = (one: string, other: string): number => {
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
};

const SURFACES = {
  light: ["#ffffff", "#f5f6f8", "#eef0f3"],
  dark: ["#0a0d11", "#0e1217", "#151a21", "#1d2530"],
} as const;
const colour = fc.integer({ min: 0, max: 0xff_ff_ff }).map((value) => `#${value.toString(16).padStart(6, "0")}`);

describe("a page's colour", () => {
  it("becomes a shade that can be read in both themes, as text and under text", () => {
    fc.assert(
      fc.property(colour, fc.constantFrom("light", "dark"), (given, theme) => {
        const { accent = "", onAccent = "" } = readable(given, theme) ?? {};
        for (const surface of SURFACES[theme]) expect(contrast(accent, surface)).toBeGreaterThanOrEqual(4.5);
        expect(contrast(accent, onAccent)).toBeGreaterThanOrEqual(4.5);
      }),
    );
  });

  it("stays as given if it can be read", () => {
    expect(readable("#0B6470", "light")?.accent).toBe("#0b6470");
    expect(readable("#63cbd3", "dark")?.accent).toBe("#63cbd3");
  });

  it("is ignored if it is not a colour", () => {
    for (const text of ["red", "#fff", "#0b647", "#0b6470; background: url(x)", ""])
      expect(readable(text, "light")).toBe(null);
  });
});
