import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { useMay, useMe } from "../../api/accounts.ts";
import { decideReview, reviewOptions, useEnvironmentAction } from "../../api/environments.ts";
import { toProblem } from "../../api/problem.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Fact } from "../../parts/facts.tsx";
import { Field } from "../../parts/field.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { DifferenceFacts } from "./environment-difference.tsx";

/** A proposed promotion: what it would change, and the decision of a second person. */
export function ReviewDialog({
  onClose,
  ...path
}: {
  readonly project_id: string;
  readonly environment: string;
  readonly review_id: string;
  readonly onClose: () => void;
}): JSX.Element {
  const review = useQuery(reviewOptions(path));
  const decide = useEnvironmentAction(decideReview);
  const [reason, setReason] = useState("");
  const me = useMe();
  const mayEdit = useMay("editor", path.project_id);
  const found = review.data;
  const isOwn = found?.proposed_by === me.id;
  const act = (decision: "approve" | "reject" | "withdraw") => () =>
    decide.mutate({ ...path, decision, reason }, { onSuccess: onClose });
  return (
    <Dialog title={`Review for ${path.environment}`} wide onClose={onClose}>
      {review.error && <Failure fault={toProblem(review.error)} />}
      {review.isPending && <Loading what="the review" rows={3} />}
      {found && (
        <div className="stack">
          <dl className="facts-line">
            <Fact term="Version">{found.version}</Fact>
            <Fact term="Proposed by">{found.proposed_by_name ?? "A deleted user or key"}</Fact>
            <Fact term="At">
              <Time at={found.proposed_at} />
            </Fact>
          </dl>
          {found.notes !== "" && <p className="wrap">{found.notes}</p>}
          <DifferenceFacts projectId={path.project_id} difference={found.difference} />
          {found.state !== "open" ? (
            <p>
              {found.state.charAt(0).toUpperCase() + found.state.slice(1)} by{" "}
              {found.decided_by_name ?? "a deleted user or key"}, <Time at={found.decided_at} />.{" "}
              {found.reason !== "" && <span className="wrap">{found.reason}</span>}
            </p>
          ) : (
            mayEdit && (
              <>
                <Field label="Reason (optional)" hint="Shown in the history.">
                  {(control) => (
                    <textarea
                      className="input"
                      rows={2}
                      value={reason}
                      onChange={(event) => setReason(event.target.value)}
                      {...control}
                    />
                  )}
                </Field>
                {isOwn && <p className="muted">You proposed this version, so another person has to approve it.</p>}
                <div className="row">
                  {isOwn ? (
                    <button type="button" className="button" disabled={decide.isPending} onClick={act("withdraw")}>
                      Withdraw
                    </button>
                  ) : (
                    <>
                      <button
                        type="button"
                        className="button button-primary"
                        disabled={decide.isPending}
                        onClick={act("approve")}
                      >
                        Approve and promote
                      </button>
                      <button type="button" className="button" disabled={decide.isPending} onClick={act("reject")}>
                        Reject
                      </button>
                    </>
                  )}
                </div>
              </>
            )
          )}
          {decide.error && <Failure fault={toProblem(decide.error)} />}
        </div>
      )}
    </Dialog>
  );
}
