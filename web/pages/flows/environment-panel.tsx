import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link } from "react-router";
import { useMay } from "../../api/accounts.ts";
import {
  changeEnvironment,
  openReviewsOptions,
  useEnvironmentAction,
  type Environment,
} from "../../api/environments.ts";
import { toProblem } from "../../api/problem.ts";
import { links } from "../../links.ts";
import { Fact } from "../../parts/facts.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Failure } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { useConnectionNames } from "./environment-difference.tsx";

/** One environment: what runs in it, who brought it there, and what waits for a decision. */
export function EnvironmentPanel({
  projectId: project_id,
  environment: { name, version, connections, requires_review, promotion },
  onDo,
}: {
  readonly projectId: string;
  readonly environment: Environment;
  readonly onDo: (what: "promote" | "rollback" | "rename" | "delete") => void;
}): JSX.Element {
  const mayEdit = useMay("editor", project_id);
  const isAdmin = useMay("admin", project_id);
  const reviews = useQuery(openReviewsOptions({ project_id, environment: name }));
  const change = useEnvironmentAction(changeEnvironment);
  const names = useConnectionNames();
  const replaced = Object.entries(connections);
  return (
    <section className="panel stack" aria-labelledby={`environment-${name}`}>
      <div className="spread">
        <h2 id={`environment-${name}`} className="wrap">
          {name}
        </h2>
        {version === null ? (
          <span className="muted">No version yet</span>
        ) : (
          <Link to={links.flowVersion(project_id, version)}>Version {version}</Link>
        )}
      </div>
      <dl className="facts">
        {promotion && (
          <Fact term={promotion.kind === "rollback" ? "Rolled back" : "Promoted"}>
            <Time at={promotion.promoted_at} />
            <div className="wrap small muted">by {promotion.promoted_by_name ?? "a deleted user or key"}</div>
          </Fact>
        )}
        {promotion && promotion.notes !== "" && (
          <Fact term="Notes">
            <span className="wrap">{promotion.notes}</span>
          </Fact>
        )}
        <Fact term="Connections">
          {replaced.length === 0
            ? "As in the flow"
            : replaced.map(([from, to]) => (
                <div key={from} className="wrap">
                  {names.get(from) ?? from} → {names.get(to) ?? to}
                </div>
              ))}
        </Fact>
        <Fact term="Review">{requires_review ? "A second person approves" : "Not required"}</Fact>
        <Fact term="Runs">
          <Link to={links.runs({ project_id, environment: name })}>Runs in {name}</Link>
        </Fact>
      </dl>
      {(reviews.data?.data ?? []).map((review) => (
        <Link
          key={review.review_id}
          className="button"
          to={links.flowEnvironments(project_id, { in: name, review: review.review_id })}
        >
          <Icon name="inbox" /> Review version {review.version}
        </Link>
      ))}
      {mayEdit && (
        <div className="row">
          <button
            type="button"
            className="button button-primary"
            onClick={() => onDo("promote")}
            aria-label={requires_review ? `Propose… for ${name}` : `Promote… to ${name}`}
          >
            {requires_review ? "Propose…" : "Promote…"}
          </button>
          {promotion?.previous_version != null && (
            <button type="button" className="button" onClick={() => onDo("rollback")} aria-label={`Roll back… ${name}`}>
              Roll back…
            </button>
          )}
          {isAdmin && (
            <button
              type="button"
              className="button button-quiet"
              disabled={change.isPending}
              aria-label={`${requires_review ? "Stop requiring" : "Require"} reviews in ${name}`}
              onClick={() => change.mutate({ project_id, environment: name, requires_review: !requires_review })}
            >
              {requires_review ? "Stop requiring reviews" : "Require reviews"}
            </button>
          )}
          {isAdmin && name !== "production" && (
            <>
              <button
                type="button"
                className="button button-quiet"
                aria-label={`Rename… ${name}`}
                onClick={() => onDo("rename")}
              >
                Rename…
              </button>
              <button
                type="button"
                className="button button-quiet"
                aria-label={`Delete… ${name}`}
                onClick={() => onDo("delete")}
              >
                Delete…
              </button>
            </>
          )}
        </div>
      )}
      {change.error && <Failure fault={toProblem(change.error)} />}
    </section>
  );
}
