/** The service's version, that of package.json: for --version, the User-Agent of outbound requests and the health answer. */
export const VERSION = "0.2.0-dev";
