/** Type of what is dragged from the palette. */
export const KIND_TYPE = "application/x-millrace-node";
