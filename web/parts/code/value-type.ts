/** The type of dragged values that code fields take: an `InsertedValue` as JSON. */
export const VALUE_TYPE = "application/x-millrace-value";
