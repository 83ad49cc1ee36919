/** Returned instead of a scheduled run while the limit of unfinished runs is reached. */
export const NO_PLACE = "no place";
