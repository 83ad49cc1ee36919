import { textOf } from "../../domain/providers/connection.ts";
import type { GuardedSockets } from "../../platform/fetch/guarded-sockets.ts";
import { MailFailed, openMailSession, type MailServer, type MailSession } from "../../platform/mail/smtp-session.ts";
import type { Finding, ResolvedConnection } from "./resolve-connection.ts";

/** Opens a session with a connection's mail server. Throws MailFailed, and the errors of the guarded connections. */
export async function openMail(
  sockets: GuardedSockets,
  connection: ResolvedConnection,
  silenceMs: number,
  signal: AbortSignal,
): Promise<MailSession> {
  const { credential } = connection;
  const ca = textOf(credential, "ca");
  const server: MailServer = {
    host: textOf(credential, "host"),
    port: Number(credential["port"]),
    tls: textOf(credential, "tls") as MailServer["tls"],
    ca: ca === "" ? undefined : ca,
    login:
      connection.scheme === "none"
        ? null
        : { user: textOf(credential, "username"), pass: textOf(credential, "password") },
    silenceMs,
  };
  try {
    const session = await openMailSession(sockets, server, signal);
    await connection.accepted();
    return session;
  } catch (error) {
    if (error instanceof MailFailed && error.why === "login") await connection.rejected(refusal(error));
    throw error;
  }
}

/** Whether the server accepts the credential. Throws as `openMail`. */
export async function checkMail(sockets: GuardedSockets, connection: ResolvedConnection, ms: number): Promise<Finding> {
  try {
    const session = await openMail(sockets, connection, ms, AbortSignal.timeout(ms));
    session.close();
    return { status: "active", reason: null };
  } catch (error) {
    if (!(error instanceof MailFailed)) throw error;
    return { status: error.why === "login" ? "error" : null, reason: refusal(error) };
  }
}

/** The reason of a refusal without the server's own text, because some servers echo what they were sent. */
function refusal({ status, why }: MailFailed): string {
  const what = why === "login" ? "The mail server rejected the credential" : "The mail server cannot be used";
  return status === null ? `${what}.` : `${what} (${status}).`;
}
