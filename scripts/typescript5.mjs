// Loaded before a program that uses the compiler's JavaScript interface, which TypeScript 7 does not have: the program gets
// TypeScript 5.
import { register } from "node:module";

const hook = `export const resolve = (name, context, next) => next(name === "typescript" ? "typescript5" : name, context);`;
register(`data:text/javascript,${encodeURIComponent(hook)}`, import.meta.url);
