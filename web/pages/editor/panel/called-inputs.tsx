import { useQuery } from "@tanstack/react-query";
import type { ComponentType, JSX } from "react";
import { toProblem } from "../../../api/problem.ts";
import { actionOptions } from "../../../api/referables.ts";
import { flowInputsOptions } from "../../../api/runs.ts";
import { valueAt } from "../../../flow/access.ts";
import type { Path } from "../../../flow/document.ts";
import { useForm, type ControlProps } from "../../../parts/schema-form/form-context.ts";
import { labelOf } from "../../../parts/schema-form/frame.tsx";
import { SchemaForm } from "../../../parts/schema-form/schema-form.tsx";
import { Failure, Loading } from "../../../parts/states.tsx";
import { useNodeForm } from "./panel-context.ts";

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/** The form of what a node calls, in place of the inputs that its own schema leaves open: an action's or a flow's. */
export function calledInputs(config: unknown, path: Path): ComponentType<ControlProps> | null {
  const name = path.at(-1);
  if (name !== "inputs" && name !== "fixed_inputs") return null;
  const beside = (field: string): unknown => valueAt(config, [...path.slice(1, -1), field]);
  if (isText(beside("provider_id")) && isText(beside("action_id"))) return ActionInputs;
  return name === "inputs" && isText(beside("project_id")) ? FlowInputs : null;
}

function useBeside(path: Path): (field: string) => unknown {
  const { config } = useNodeForm();
  return (field) => valueAt(config, [...path.slice(1, -1), field]);
}

function ActionInputs(props: ControlProps): JSX.Element {
  const beside = useBeside(props.path);
  const options = actionOptions(String(beside("provider_id")), String(beside("action_id")));
  const { data, error, isPending, refetch } = useQuery({ ...options, retry: false });
  if (isPending) return <Loading what="the action's inputs" rows={3} />;
  if (data === undefined) return <Failure fault={toProblem(error)} retry={() => void refetch()} />;
  const { required, ...open } = data.input_schema;
  // A model chooses what is not fixed.
  const isAll = props.path.at(-1) === "inputs";
  const schema = { ...open, ...(isAll && required !== undefined && { required }), "x-language": "liquid" };
  return <Inputs {...props} form={schema} about={data.description.human} isTemplated />;
}

function FlowInputs(props: ControlProps): JSX.Element {
  const beside = useBeside(props.path);
  const [version, environment] = [beside("version"), beside("environment")];
  const options = flowInputsOptions(
    String(beside("project_id")),
    typeof version === "number" ? version : -1,
    isText(environment) ? environment : undefined,
  );
  const { data, error, isPending, refetch } = useQuery({ ...options, retry: false });
  if (isPending) return <Loading what="the flow's inputs" rows={3} />;
  if (data === undefined) return <Failure fault={toProblem(error)} retry={() => void refetch()} />;
  const { properties = {}, required } = data.inputs as {
    readonly properties?: Readonly<Record<string, { readonly title?: unknown; readonly description?: unknown }>>;
    readonly required?: unknown;
  };
  const expressions = Object.entries(properties).map(([id, { title, description }]) => [
    id,
    { type: "string", title, description, "x-language": "cel" },
  ]);
  const schema = {
    type: "object",
    properties: Object.fromEntries(expressions) as object,
    required,
    additionalProperties: false,
  };
  return <Inputs {...props} form={schema} />;
}

function Inputs({
  form,
  about,
  isTemplated = false,
  ...props
}: ControlProps & { readonly form: unknown; readonly about?: string; readonly isTemplated?: boolean }): JSX.Element {
  const { path, value, change, label } = props;
  const around = useForm();
  return (
    <fieldset className="form-group">
      <legend>{labelOf(props)}</legend>
      {about !== undefined && about !== "" && <p className="small muted wrap clamp">{about}</p>}
      <SchemaForm
        schema={form}
        label={label}
        value={value}
        onChange={change}
        errors={around.errors}
        warnings={around.warnings}
        path={path}
        fillsDefaults={false}
        Code={around.Code}
        JsonText={around.JsonText}
        allowsTemplates={isTemplated}
      />
    </fieldset>
  );
}
