import { useQuery } from "@tanstack/react-query";
import { useMemo, type JSX } from "react";
import { useParams } from "react-router";
import { draftOptions, flowProjectOptions, nodeKindsOptions } from "../../api/flows.ts";
import { ApiProblem, toProblem } from "../../api/problem.ts";
import { PageHead } from "../../parts/page.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { Missing } from "../missing-flow.tsx";
import { emptyFlow, readFlow } from "./flow-text.ts";
import { Workbench } from "./workbench.tsx";
import "./editor.css";

/** `/flows/:projectId/edit`: the draft of a flow on a canvas. */
export function EditorPage(): JSX.Element {
  const { projectId = "" } = useParams();
  const project = useQuery(flowProjectOptions(projectId));
  const kinds = useQuery(nodeKindsOptions);
  const draft = useQuery(draftOptions(projectId));
  const name = project.data?.name ?? "";
  const { data: stored } = draft;
  const initial = useMemo(
    () => (stored === undefined ? null : stored === null ? emptyFlow(name) : readFlow(stored.text)),
    [stored, name],
  );
  const failed = [project, kinds, draft].find(({ error }) => error !== null);
  if (failed?.error instanceof ApiProblem && failed.error.status === 404) return <Missing error={failed.error} />;
  if (failed)
    return (
      <>
        <PageHead title="Editor" />
        <Failure fault={toProblem(failed.error)} retry={() => void failed.refetch()} />
      </>
    );
  if (!project.data || !kinds.data || stored === undefined || initial === null)
    return (
      <>
        <PageHead title="Editor" />
        <Loading what="the flow" rows={10} />
      </>
    );
  return (
    <Workbench key={projectId} projectId={projectId} name={name} kinds={kinds.data} stored={stored} initial={initial} />
  );
}
