import { invalid, ValidationProblem } from "../../domain/errors.ts";
import { createFormCompiler } from "../../domain/flow/forms/form.ts";
import { withDefaults } from "../../domain/providers/connection.ts";
import type { AuthScheme, ConnectionScheme, Credential } from "../../domain/providers/connection.ts";
import type { Provider } from "../../domain/providers/provider.ts";
import type { SecretBox } from "../../platform/secrets/seal.ts";

/** Where a sealed credential belongs: at another connection it cannot be opened. */
const contextOf = (connectionId: string): string => `connections/${connectionId}/credential`;

export function sealCredential(box: SecretBox, connectionId: string, credential: Credential): Buffer {
  return box.seal(JSON.stringify(credential), contextOf(connectionId));
}

/** Throws SealBroken. */
export function openCredential(box: SecretBox, connectionId: string, sealed: Buffer): Credential {
  return JSON.parse(box.open(sealed, contextOf(connectionId))) as Credential;
}

/** The scheme of a provider that a credential is of: the only one where none is named. Throws 422. */
export function requireScheme(
  provider: Provider,
  scheme: ConnectionScheme | undefined,
): { readonly scheme: ConnectionScheme; readonly auth: AuthScheme } {
  const schemes = Object.keys(provider.auth.schemes) as ConnectionScheme[];
  if (schemes.length === 0) throw invalid(["body", "provider_id"], `${provider.name} needs no connection`);
  const named = scheme ?? (schemes.length === 1 ? schemes[0] : undefined);
  const auth = named === undefined ? undefined : provider.auth.schemes[named];
  if (named === undefined || auth === undefined) {
    throw invalid(["body", "scheme"], `${provider.name} takes one of: ${schemes.join(", ")}`);
  }
  return { scheme: named, auth };
}

/** The credential with defaults. Throws 422 with every place where it is not what the scheme takes; no message quotes it. */
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
  throw new ValidationProblem(
    issues.map(({ path, message }) => ({ loc: [...loc, ...path], msg: message, type: "value_error" })),
  );
}
