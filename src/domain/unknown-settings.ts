import { nearestName } from "./nearest-name.ts";

const PREFIX = "MILLRACE_";
/** Variables that Kubernetes adds to a pod for each service in its namespace, which may also be named millrace-... */
const OF_KUBERNETES = /_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT_\d{1,5}_(?:TCP|UDP|SCTP)(?:_|$)/;
const ADDRESS_OF_KUBERNETES = /^(tcp|udp|sctp):\/\//;

/**
 * A warning for each environment variable that looks like a setting but is unknown, with the setting that was probably meant. Otherwise it
 * would be silently ignored.
 */
export function unknownSettings(
  environment: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): string[] {
  return Object.entries(environment).flatMap(([name, value]) => {
    if (!name.startsWith(PREFIX) || known.includes(name) || value === undefined || value === "") return [];
    if (OF_KUBERNETES.test(name) || ADDRESS_OF_KUBERNETES.test(value)) return [];
    // Compared without the prefix, because not all settings have it.
    const near = nearestName(withoutPrefix(name), known.map(withoutPrefix));
    const meant = known.find((each) => withoutPrefix(each) === near);
    return [`${name} is not a setting and has no effect${meant === undefined ? "." : `; did you mean ${meant}?`}`];
  });
}

function withoutPrefix(name: string): string {
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name;
}
