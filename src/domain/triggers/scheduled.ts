/** In place of a scheduled run: as many runs are under way as may be. */
export const NO_PLACE = "no place";
