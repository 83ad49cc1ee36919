import { lazy, Suspense, useMemo, useState, type JSX } from "react";
import type { CodeProblem } from "../../../parts/code/code-field.tsx";
import { useMessages, type ControlProps } from "../../../parts/schema-form/form-context.ts";
import { emptyText, labelOf, useNotes } from "../../../parts/schema-form/frame.tsx";
import { useNodeForm } from "./panel-context.ts";
import { Preview } from "./preview.tsx";
import { completionsOf } from "./scope-values.ts";

const CodeField = lazy(async () => ({ default: (await import("../../../parts/code/code-field.tsx")).CodeField }));

const LANGUAGES = ["liquid", "cel", "javascript"] as const;
const LINES: Readonly<Record<(typeof LANGUAGES)[number], number>> = { liquid: 2, cel: 1, javascript: 10 };
const NAMES: Readonly<Record<(typeof LANGUAGES)[number], string>> = {
  liquid: "Liquid",
  cel: "CEL",
  javascript: "JavaScript",
};

/** A template, an expression or code: completion of what is in scope, errors as the API finds them, and a preview. */
export function ExpressionField(props: ControlProps): JSX.Element {
  const { schema, value, change, path, label } = props;
  const { seen, isReadOnly, setTarget } = useNodeForm();
  const [isShown, setShown] = useState(false);
  const { errors, warnings } = useMessages(path);
  const language = LANGUAGES.find((each) => each === schema["x-language"]) ?? "liquid";
  const source = typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value);
  const canPreview = language !== "javascript";
  const completions = useMemo(() => (language === "javascript" ? [] : completionsOf(seen, language)), [seen, language]);
  const problems = useMemo(
    () => [...errors.map((each) => problemOf(each, "error")), ...warnings.map((each) => problemOf(each, "warning"))],
    [errors, warnings],
  );
  const { describedBy, notes } = useNotes(props);
  return (
    <div className="field expression">
      <div className="field-head">
        <span className="label">{labelOf(props)}</span>
        <span className="small muted">{NAMES[language]}</span>
      </div>
      <Suspense fallback={<textarea className="input mono" rows={3} aria-label={label} readOnly value={source} />}>
        <CodeField
          language={language}
          label={label}
          value={source}
          onChange={(next) => change(path, next === "" ? undefined : next)}
          describedBy={describedBy}
          isInvalid={errors.length > 0}
          completions={completions}
          problems={problems}
          readOnly={isReadOnly}
          minLines={path.length > 2 ? 1 : LINES[language]}
          placeholder={emptyText(props)}
          history="outside"
          onFocus={setTarget}
        />
      </Suspense>
      {canPreview && (
        <button
          type="button"
          className="button button-quiet button-small"
          aria-expanded={isShown}
          aria-label={isShown ? `Hide preview of ${label}` : `Preview ${label}`}
          onClick={() => setShown(!isShown)}
        >
          {isShown ? "Hide preview" : "Preview"}
        </button>
      )}
      {isShown && canPreview && <Preview language={language} source={source} label={label} />}
      {notes}
    </div>
  );
}

/** A message with the position that it names. */
function problemOf(message: string, severity: CodeProblem["severity"]): CodeProblem {
  const [, line, column] = /\bline (\d+)(?:,? column (\d+))?/i.exec(message) ?? [];
  return {
    message,
    severity,
    ...(line !== undefined && { line: Number(line) }),
    ...(column !== undefined && { column: Number(column) }),
  };
}
