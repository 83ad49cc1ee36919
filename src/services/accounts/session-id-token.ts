import type { SecretBox } from "../../platform/secrets/seal.ts";
import { SealBroken } from "../../platform/secrets/seal.ts";
import { secretContext } from "../../stores/secrets/sealed.ts";

/** The token becomes part of a URL, and servers refuse long URLs. */
const MAX_CHARACTERS = 6000;

/** Null if it is too long to be of use. */
export function sealIdToken(box: SecretBox, sessionId: string, idToken: string): Buffer | null {
  return idToken.length > MAX_CHARACTERS ? null : box.seal(idToken, secretContext("sessions", sessionId, "id_token"));
}

/** Null if there is none or no master key opens it; the provider's sign-out also works without it. */
export function openIdToken(box: SecretBox, sessionId: string, sealed: Buffer | null): string | null {
  try {
    return sealed && box.open(sealed, secretContext("sessions", sessionId, "id_token"));
  } catch (error) {
    if (error instanceof SealBroken) return null;
    throw error;
  }
}
