/*
 * Built-ins that run for each element of a value, under local names. In a workflow's sandbox every lookup of a global passes an
 * interceptor: an expression that calls `Array.isArray(...)` directly takes ten times as long.
 */

export const { isArray } = Array;
export const { hasOwn, keys: keysOfObject } = Object;
export const { isFinite: isFiniteNumber, isInteger, isNaN: isNotNumber, isSafeInteger } = Number;
export const toNumber = Number;
export const toBigInt = BigInt;
export const toStringOf = String;
export const NativeMap = Map;
export const NativeBytes = Uint8Array;
