type Attributes = Readonly<Record<string, string>>;

interface Part {
  readonly name: string;
  readonly text: string;
}

interface Frame {
  readonly name: string;
  readonly parts: Part[];
  /** Settings in the properties of the element, such as the sign of a sum. */
  readonly properties: Map<string, string>;
}

/** Reads a formula of Office Math (`m:oMath`) from the events between its start and its end. */
export interface MathReader {
  open(name: string, attributes: Attributes): void;
  text(text: string): void;
  /** Returns the formula on one line when its outermost element closes; null before. */
  close(): string | null;
}

/** A formula in one-line notation: (a+b)/2, x^2, √(x), ∑_(i=1)^n i. */
export function createMathReader(): MathReader {
  const frames: Frame[] = [];
  return {
    open(name, attributes) {
      const value = Object.entries(attributes).find(([key]) => key === "val" || key.endsWith(":val"))?.[1];
      // Properties belong to the element that contains the property element.
      const properties = frames.at(-1)?.name.endsWith("Pr") === true ? frames.at(-1)?.properties : undefined;
      if (value !== undefined) properties?.set(name, value);
      const own = name.endsWith("Pr") ? frames.at(-1)?.properties : undefined;
      frames.push({ name, parts: [], properties: own ?? new Map() });
    },
    text(text) {
      const frame = frames.at(-1);
      if (frame?.name === "t") frame.parts.push({ name: "", text });
    },
    close() {
      const frame = frames.pop();
      if (frame === undefined) return null;
      const text = frame.name.endsWith("Pr") ? "" : written(frame);
      const parent = frames.at(-1);
      if (parent === undefined) return text;
      parent.parts.push({ name: frame.name, text });
      return null;
    },
  };
}

function written({ name, parts, properties }: Frame): string {
  const all = (wanted: string): string[] => parts.filter((part) => part.name === wanted).map(({ text }) => text);
  const one = (wanted: string): string => all(wanted).join("");
  const sub = (): string => scripted("_", one("sub"));
  const sup = (): string => scripted("^", one("sup"));
  const property = (wanted: string, otherwise: string): string => properties.get(wanted) ?? otherwise;
  switch (name) {
    case "f":
      return property("type", "bar") === "noBar"
        ? `(${one("num")} ¦ ${one("den")})`
        : `${grouped(one("num"))}/${grouped(one("den"))}`;
    case "sSup":
    case "sSub":
    case "sSubSup":
      return `${grouped(one("e"))}${sub()}${sup()}`;
    case "sPre":
      return `${sub()}${sup()} ${one("e")}`;
    case "rad":
      return `${one("deg")}√(${one("e")})`;
    case "nary":
      return `${property("chr", "∫")}${sub()}${sup()} ${one("e")}`;
    case "d":
      return `${property("begChr", "(")}${all("e").join(property("sepChr", "|"))}${property("endChr", ")")}`;
    case "func":
      return `${one("fName")} ${one("e")}`;
    case "acc":
      return `${one("e")}${property("chr", "\u0302")}`;
    case "limLow":
      return `${one("e")}${scripted("_", one("lim"))}`;
    case "limUpp":
      return `${one("e")}${scripted("^", one("lim"))}`;
    case "mr":
      return all("e").join(", ");
    case "m":
      return `[${all("mr").join("; ")}]`;
    case "eqArr":
      return all("e").join("; ");
    default:
      return parts.map(({ text }) => text).join("");
  }
}

function scripted(sign: string, text: string): string {
  return text === "" ? "" : `${sign}${grouped(text)}`;
}

function grouped(text: string): string {
  return text.length < 32 && /^[\p{L}\p{M}\p{N}.]*$/u.test(text) ? text : `(${text})`;
}
