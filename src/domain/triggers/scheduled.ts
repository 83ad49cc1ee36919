/** Replaces a scheduled run if the limit of runs under way is reached. */
export const NO_PLACE = "no place";
