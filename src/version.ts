/** The version of Millrace from package.json: for --version, the User-Agent of outbound requests and the health response. */
export const VERSION = "0.2.0-dev";
