import { useMutation } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { findSent } from "../../api/webhooks.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { onTexts, type FormTexts } from "../../parts/form-texts.ts";
import { Icon } from "../../parts/icons.tsx";
import { Failure, Notice } from "../../parts/states.tsx";
import { Submit } from "../../parts/submit.tsx";
import { checkSignature, parseHeaders, type Finding } from "./signature.ts";

/** Values that the checker is prefilled with. */
export interface SignatureStart {
  readonly headers: string;
  readonly body: string;
}

/** Explains why a receiver rejects the signature of a delivery. The secret stays in the browser. */
export function SignatureChecker({
  subscriptionId,
  start = { headers: "", body: "" },
  onClose,
}: {
  readonly subscriptionId: string;
  readonly start?: SignatureStart;
  readonly onClose: () => void;
}): JSX.Element {
  const [isLate, setLate] = useState(false);
  const check = useMutation({
    mutationFn: async (given: FormTexts) => {
      const headers = parseHeaders(given("headers"));
      const at = given("at") === "" ? Date.now() : Date.parse(given("at"));
      const sent = await findSent(subscriptionId, headers["webhook-id"] ?? "");
      return checkSignature({ headers, body: given("body"), secret: given("secret"), at }, sent);
    },
  });
  if (!("subtle" in crypto))
    return (
      <Dialog title="Check a signature" onClose={onClose}>
        <Notice tone="warn">Signatures can be checked only over HTTPS or on localhost.</Notice>
      </Dialog>
    );
  return (
    <Dialog title="Check a signature" onClose={onClose} wide>
      <form className="stack" onSubmit={onTexts((given) => check.mutate(given))}>
        <p>Paste what the receiver got. The check runs in this browser; the secret is not sent anywhere.</p>
        <Field label="Headers" hint="webhook-id, webhook-timestamp and webhook-signature. Other headers are ignored.">
          {(control) => (
            <textarea
              className="input mono"
              name="headers"
              rows={4}
              required
              spellCheck={false}
              defaultValue={start.headers}
              {...control}
            />
          )}
        </Field>
        <Field label="Body" hint="Paste the exact bytes received.">
          {(control) => (
            <textarea
              className="input mono"
              name="body"
              rows={5}
              spellCheck={false}
              defaultValue={start.body}
              {...control}
            />
          )}
        </Field>
        <Field label="Secret" hint="Starts with whsec_.">
          {(control) => (
            <input className="input mono" type="password" name="secret" required autoComplete="off" {...control} />
          )}
        </Field>
        <label className="check">
          <input type="checkbox" checked={isLate} onChange={(event) => setLate(event.target.checked)} /> Arrived at a
          different time than now
        </label>
        {isLate && (
          <Field label="Arrival time">
            {(control) => <input className="input" type="datetime-local" name="at" step={1} required {...control} />}
          </Field>
        )}
        <Submit isPending={check.isPending}>Check</Submit>
        {check.error && <Failure fault={check.error} />}
        {check.data && <Findings findings={check.data} />}
      </form>
    </Dialog>
  );
}

function Findings({ findings }: { readonly findings: readonly Finding[] }): JSX.Element {
  const agrees = findings.every((each) => each.agrees);
  return (
    <div className="stack-tight" role="status" aria-label="Result">
      <strong>{agrees ? "Signature valid." : "Signature not valid. A receiver must reject this request."}</strong>
      {findings.map(({ part, agrees: fits, text }) => (
        <div key={part} className={`notice notice-${fits ? "good" : "bad"}`}>
          <Icon name={fits ? "check" : "cross"} />
          <span className="wrap">
            <strong>
              {part} {fits ? "is valid" : part === "Headers" ? "are incomplete" : "is not valid"}.
            </strong>{" "}
            {text}
          </span>
        </div>
      ))}
    </div>
  );
}
