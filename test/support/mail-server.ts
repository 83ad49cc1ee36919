import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly message: string;
}

export interface MailTarget {
  readonly port: number;
  readonly mails: ReceivedMail[];
  close(): Promise<void>;
}

/**
 * A mail server with one user. It rejects recipients at `refused@`; replies 451 to a message with the subject "busy"
 * and 554 to "spam"; and at "cut" it closes the connection in the middle of the message.
 */
export async function startMailServer(
  login: { readonly user: string; readonly pass: string },
  options: { readonly tls?: { readonly key: string; readonly cert: string }; readonly secure?: boolean } = {},
): Promise<MailTarget> {
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    ...options.tls,
    secure: options.secure ?? false,
    authOptional: false,
    ...(options.tls ? {} : { disabledCommands: ["STARTTLS"], allowInsecureAuth: true }),
    onAuth({ username, password }, _session, done) {
      // Some real servers repeat the password in their reply.
      if (username === login.user && password === login.pass) done(null, { user: username });
      else done(new Error(`no: ${password}`));
    },
    onRcptTo({ address }, _session, done) {
      done(address.startsWith("refused@") ? new Error("no such mailbox") : null);
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const message = Buffer.concat(chunks).toString("utf8");
        const { mailFrom, rcptTo } = session.envelope;
        mails.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          message,
        });
        const subject = /^subject: (.*)$/im.exec(message)?.[1]?.trim();
        const answer = { busy: 451, spam: 554 }[subject ?? ""];
        if (subject === "cut") for (const each of server.connections) each.close();
        else done(answer === undefined ? null : Object.assign(new Error("not now"), { responseCode: answer }));
      });
    },
  });
  server.on("error", () => undefined);
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
