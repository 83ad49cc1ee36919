/** The service's version, for the User-Agent of outbound requests and the health answer. */
export const VERSION = "0.1.0";
