import MailComposer from "nodemailer/lib/mail-composer";

/** A name and an address, each on one line. */
export interface Mailbox {
  readonly name: string;
  readonly address: string;
}

export interface MailDraft {
  readonly from: Mailbox;
  readonly to: readonly Mailbox[];
  readonly cc: readonly Mailbox[];
  readonly replyTo: Mailbox | undefined;
  readonly subject: string;
  readonly text: string | undefined;
  readonly html: string | undefined;
  readonly inReplyTo: string | undefined;
  readonly messageId: string;
  readonly attachments: ReadonlyArray<{
    readonly filename: string;
    readonly content: Buffer;
    readonly contentType: string | undefined;
  }>;
}

/** The message as it is sent. Nothing in it is downloaded or read from a file, whatever its texts contain. */
export function composeMail({ to, cc, replyTo, text, attachments, ...draft }: MailDraft): Promise<Buffer> {
  const composer = new MailComposer({
    ...draft,
    to: [...to],
    cc: [...cc],
    ...(replyTo ? { replyTo } : {}),
    text: text ?? (draft.html === undefined ? "" : undefined),
    attachments: attachments.map((each) => ({ ...each, contentDisposition: "attachment" })),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return new Promise((resolve, reject) => {
    composer.compile().build((error, message) => (error ? reject(error) : resolve(message)));
  });
}
