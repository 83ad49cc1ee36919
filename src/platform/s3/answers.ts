/** The contents of each element of this name; S3 does not nest the elements used here in themselves. */
export function elementsOf(xml: string, name: string): string[] {
  return xml
    .split(`<${name}>`)
    .slice(1)
    .map((part) => part.slice(0, Math.max(0, part.indexOf(`</${name}>`))));
}

/** The text of the first element of this name. */
export function textOf(xml: string, name: string): string | undefined {
  return elementsOf(xml, name)[0]?.replace(
    /&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([0-9a-f]{1,6}));/gi,
    (whole, entity: string | undefined, decimal: string | undefined, hex: string | undefined) => {
      if (entity !== undefined) return ENTITIES[entity.toLowerCase()] ?? whole;
      const point = Number.parseInt(decimal ?? hex ?? "", decimal === undefined ? 16 : 10);
      return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
    },
  );
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
