import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { invalid, ValidationProblem } from "../../domain/errors.ts";
import { createFormCompiler } from "../../domain/flow/forms/form.ts";
import type { JsonObject } from "../../domain/json.ts";
import { mergePatch } from "../../domain/patch.ts";
import {
  withDefaults,
  type AuthScheme,
  type ConnectionScheme,
  type Credential,
} from "../../domain/providers/connection.ts";
import type { Provider } from "../../domain/providers/provider.ts";
import type { SecretBox } from "../../platform/secrets/seal.ts";
import { secretContext } from "../../stores/secrets/sealed.ts";

export function sealCredential(box: SecretBox, connectionId: string, credential: Credential): Buffer {
  return box.seal(JSON.stringify(credential), secretContext("connections", connectionId, "credential"));
}

/** Decrypts the credential of a connection. Throws SealBroken. */
export function openCredential(box: SecretBox, connectionId: string, sealed: Buffer): Credential {
  return JSON.parse(box.open(sealed, secretContext("connections", connectionId, "credential"))) as Credential;
}

/** The scheme of a credential: the named one, or the one that the credential's fields imply. Throws 422 if they imply none. */
export function requireScheme(
  provider: Provider,
  scheme: ConnectionScheme | undefined,
  credential: Credential,
): { readonly scheme: ConnectionScheme; readonly auth: AuthScheme } {
  const schemes = Object.keys(provider.auth.schemes) as ConnectionScheme[];
  if (schemes.length === 0) throw invalid(["body", "provider_id"], `${provider.name} needs no connection`);
  const named = scheme ?? schemeOf(provider, Object.keys(credential));
  const auth = named === undefined ? undefined : provider.auth.schemes[named];
  if (named === undefined || auth === undefined) {
    throw invalid(
      ["body", "scheme"],
      `The authentication scheme of ${provider.name} must be one of: ${schemes.join(", ")}`,
    );
  }
  return { scheme: named, auth };
}

/**
 * The scheme that these fields imply: the only one that is complete, or else the only one that knows them all, or else
 * the only one with a field of its own among them. The error can then name the fields that are missing.
 */
function schemeOf({ auth }: Provider, names: readonly string[]): ConnectionScheme | undefined {
  const schemes = (Object.entries(auth.schemes) as Array<[ConnectionScheme, AuthScheme]>).map(
    ([scheme, { fields }]) => ({
      scheme,
      known: Object.keys((fields["properties"] ?? {}) as object),
      required: (fields["required"] ?? []) as readonly string[],
    }),
  );
  if (schemes.length === 1) return schemes[0]?.scheme;
  const taking = schemes.filter(({ known }) => names.every((name) => known.includes(name)));
  const whole = taking.filter(({ required }) => required.every((name) => names.includes(name)));
  const telling = schemes.filter(({ known }) =>
    names.some((name) => known.includes(name) && schemes.filter((each) => each.known.includes(name)).length === 1),
  );
  const [only, ...others] = [whole, taking, telling].find((found) => found.length === 1) ?? [];
  return others.length === 0 ? only?.scheme : undefined;
}

/**
 * The credential after a change. A change of where or how it is used must contain its secrets, so that a caller who
 * does not know them cannot send them elsewhere. Throws 422.
 */
export function mergedCredential(auth: AuthScheme, present: Credential, given: Credential): Credential {
  const properties = (auth.fields["properties"] ?? {}) as Readonly<Record<string, JsonObject | undefined>>;
  const isSecret = (name: string): boolean => properties[name]?.["writeOnly"] === true;
  const merged = requireCredential(auth, mergePatch(CREDENTIAL, present, given) as Credential);
  const isUsedOtherwise = [...new Set([...Object.keys(present), ...Object.keys(merged)])].some(
    (name) => !isSecret(name) && !isDeepStrictEqual(present[name], merged[name]),
  );
  const kept = Object.keys(merged).filter((name) => isSecret(name) && given[name] === undefined);
  if (!isUsedOtherwise || kept.length === 0) return merged;
  throw new ValidationProblem(
    kept.map((name) => ({
      loc: ["body", "credential", name],
      msg: "Required: send the whole credential again if you change a field that is not secret",
      type: "missing",
    })),
  );
}

const CREDENTIAL = z.record(z.string(), z.json());

/** The credential with defaults. Throws 422 with every problem; no message quotes the credential. */
export function requireCredential(
  auth: AuthScheme,
  given: Credential,
  loc: readonly string[] = ["body", "credential"],
): Credential {
  const form = createFormCompiler()(auth.fields);
  if (!form.ok) throw new Error(`the fields of a provider cannot be read: ${form.message}`);
  const credential = withDefaults(auth, given);
  const issues = form.check(credential);
  if (issues.length === 0) return credential;
  const required = (auth.fields["required"] ?? []) as readonly string[];
  const missing = required.filter((name) => credential[name] === undefined);
  const others = issues.filter(({ path: [first, ...inside] }) => inside.length > 0 || !missing.includes(String(first)));
  throw new ValidationProblem([
    ...missing.map((name) => ({ loc: [...loc, name], msg: "This field is required", type: "missing" })),
    ...others.map(({ path, message }) => ({ loc: [...loc, ...path], msg: message, type: "value_error" })),
  ]);
}
