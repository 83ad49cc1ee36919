import { closest, distance } from "fastest-levenshtein";

const PREFIX = "MILLRACE_";
/** What Kubernetes adds to the environment of a pod for each service of its namespace, one named millrace-... too. */
const OF_KUBERNETES = /_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT_\d{1,5}_(?:TCP|UDP|SCTP)(?:_|$)/;
const ADDRESS_OF_KUBERNETES = /^(tcp|udp|sctp):\/\//;

/**
 * A sentence for each variable that is set, looks like one of our settings and is none, with the setting that is
 * probably meant. It would be ignored without a word.
 */
export function unknownSettings(
  environment: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): string[] {
  return Object.entries(environment).flatMap(([name, value]) => {
    if (!name.startsWith(PREFIX) || known.includes(name) || value === undefined || value === "") return [];
    if (OF_KUBERNETES.test(name) || ADDRESS_OF_KUBERNETES.test(value)) return [];
    const meant = nearest(name, known);
    return [`${name} is no setting and has no effect${meant === undefined ? "." : `: is ${meant} meant?`}`];
  });
}

/** Without the prefix, since not all settings have it. Where more than a third differs it is another name. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const bare = name.slice(PREFIX.length);
  const found = closest(bare, known.map(withoutPrefix));
  if (distance(bare, found) > Math.ceil(bare.length / 3)) return undefined;
  return known.find((each) => withoutPrefix(each) === found);
}

function withoutPrefix(name: string): string {
  return name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name;
}
