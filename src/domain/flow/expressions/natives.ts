/*
 * The built-ins that run once or more for each element of a value, under names of our own. In a workflow's sandbox every
 * look-up of a global goes through an interceptor: with `Array.isArray(...)` spelled out, an expression takes ten times
 * as long there.
 */

export const { isArray } = Array;
export const { hasOwn, keys: keysOfObject } = Object;
export const { isFinite: isFiniteNumber, isInteger, isNaN: isNotNumber, isSafeInteger } = Number;
export const toNumber = Number;
export const toBigInt = BigInt;
export const toStringOf = String;
export const NativeMap = Map;
export const NativeBytes = Uint8Array;
