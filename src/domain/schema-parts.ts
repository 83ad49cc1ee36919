import { z } from "zod";

/** A text of 1 to `max` characters (UTF-16 units). */
export const textUpTo = (max: number) => z.string().min(1).max(max);

/** A whole number from `min` to `max`. */
export const wholeNumber = (min: number, max: number) => z.int().min(min).max(max);

/** A list of 1 to `max` items. */
export const listUpTo = <Item extends z.ZodType>(max: number, item: Item) => z.array(item).min(1).max(max);
