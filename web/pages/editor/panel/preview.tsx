import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { toProblem } from "../../../api/problem.ts";
import { evaluatedOptions } from "../../../api/referables.ts";
import { Failure, Loading } from "../../../parts/states.tsx";
import { Value } from "../../../parts/value.tsx";
import { useNodeForm } from "./panel-context.ts";
import { cutNames, valuesFor } from "./preview-texts.ts";
import { useSettled } from "../../../parts/use-settled.ts";

const AFTER_MS = 400;

/** What a template or expression gives with the values of the last try or of a chosen run. */
export function Preview({
  language,
  source,
  label,
}: {
  readonly language: "liquid" | "cel";
  readonly source: string;
  readonly label: string;
}): JSX.Element {
  const { seen, preview } = useNodeForm();
  const text = useSettled(source, AFTER_MS);
  const values = valuesFor(text, seen);
  const cut = cutNames(values.nodes);
  const isEmpty = text.trim() === "";
  const options = evaluatedOptions({ language, source: text }, values, preview.name);
  const { data, error, isPending, refetch } = useQuery({
    ...options,
    enabled: !isEmpty && cut.length === 0 && !preview.isLoading,
  });
  const isPlain = typeof data?.value === "string";
  return (
    <div className="preview" role="group" aria-label={`Preview of ${label}`}>
      {isEmpty ? (
        <p className="small muted">Nothing to preview.</p>
      ) : cut.length > 0 ? (
        <p className="small muted">The value of {cut.join(", ")} is too long for a preview.</p>
      ) : error !== null ? (
        <Failure fault={toProblem(error)} retry={() => void refetch()} />
      ) : isPending ? (
        <Loading what="the preview" rows={1} />
      ) : data.error !== null ? (
        <p className="small field-error wrap">{data.error.message}</p>
      ) : isPlain ? (
        <pre className="preview-text">{data.value as string}</pre>
      ) : (
        <Value value={data.value} label={`Preview of ${label}`} />
      )}
      {preview.isEmpty && !isEmpty && (
        <p className="small muted">No values yet: names read as empty. Try the flow, or choose a run under Values.</p>
      )}
    </div>
  );
}
