import type { Config } from "../config.ts";

/** Advice if Temporal does not serve a namespace. */
export const adviceOnNamespace = (namespace: string): string =>
  `Create the namespace (temporal operator namespace create -n ${namespace}), or correct TEMPORAL_NAMESPACE or TEMPORAL_API_KEY.`;

/** Temporal's address and connection settings, for every type of connection. */
export function temporalAddress(config: Config) {
  const { TEMPORAL_TLS_CA_FILE: ca, TEMPORAL_TLS_CERT_FILE: crt, TEMPORAL_TLS_KEY_FILE: key } = config;
  const { TEMPORAL_API_KEY: apiKey, TEMPORAL_TLS_SERVER_NAME: serverName } = config;
  const own = ca !== undefined || crt !== undefined || serverName !== undefined;
  const tls = {
    ...(ca && { serverRootCACertificate: ca }),
    ...(crt && key && { clientCertPair: { crt, key } }),
    ...(serverName && { serverNameOverride: serverName }),
  };
  return {
    address: config.TEMPORAL_ADDRESS,
    ...(own ? { tls } : config.TEMPORAL_TLS || apiKey ? { tls: true as const } : {}),
    ...(apiKey ? { apiKey } : {}),
  };
}
