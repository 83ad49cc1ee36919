import { purgeExpiredTokens } from "../../stores/accounts/oauth-tokens.ts";
import { purgeProviderSignIns } from "../../stores/accounts/provider-sign-ins.ts";
import { purgeSessions } from "../../stores/accounts/sessions.ts";
import { purgeOf } from "../house/purge.ts";

export const accountPurges = [
  purgeOf("tokens", purgeExpiredTokens),
  purgeOf("sessions", purgeSessions),
  purgeOf("sign-ins", purgeProviderSignIns),
];
