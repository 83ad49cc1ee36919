import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { Link, useNavigate } from "react-router";
import { newestRunsOptions, type Run } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { shortId } from "../../parts/copy.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { Submit } from "../../parts/submit.tsx";

const LISTED = 12;

/** Chooses the run to compare with: the run it resumes or reruns, a recent one of the same project, or any by its ID. */
export function CompareDialog({ run, onClose }: { readonly run: Run; readonly onClose: () => void }): JSX.Element {
  const navigate = useNavigate();
  const { data } = useQuery(newestRunsOptions({ project_id: run.project_id }));
  const [id, setId] = useState("");
  const others = (data?.data ?? []).filter(({ run_id }) => run_id !== run.run_id).slice(0, LISTED);
  const origin = run.resumed_from?.run_id;
  return (
    <Dialog title="Compare with another run" onClose={onClose}>
      {origin !== undefined && (
        <p>
          <Link to={links.compare(origin, run.run_id)}>Compare with the original run</Link>
        </p>
      )}
      <form
        className="stack-tight"
        onSubmit={(event) => {
          event.preventDefault();
          void navigate(links.compare(encodeURIComponent(id.trim()), run.run_id));
        }}
      >
        <Field label="Run ID">
          {(control) => (
            <input
              className="input mono"
              required
              value={id}
              onChange={(event) => setId(event.target.value)}
              {...control}
            />
          )}
        </Field>
        <Submit>Compare</Submit>
      </form>
      {others.length > 0 && (
        <ul className="inside" aria-label="Runs of the same project">
          {others.map((other) => (
            <li key={other.run_id} className="attempt">
              <Link to={links.compare(other.run_id, run.run_id)}>{shortId(other.run_id)}</Link>
              <Status state={other.state} />
              <span className="small muted">version {other.flow_version}</span>
              <Time at={other.created_at} />
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  );
}
