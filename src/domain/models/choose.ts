/** The model that a node names. Omitted parts come from the organisation, then from the installation. */
export interface ModelChoice {
  readonly model?: string | undefined;
  readonly connection_id?: string | undefined;
}

/** All models that a node may use. */
export interface ModelsAsked extends ModelChoice {
  /** Used in this order if the chosen model cannot answer. */
  readonly fallback_models?: readonly string[] | undefined;
}

/** The models for nodes that name none. */
export interface ModelDefaults {
  readonly organisation: { readonly default_connection_id: string | null; readonly default_model: string | null };
  readonly installation: { readonly url: string | undefined; readonly model: string | undefined };
}

/** A model and its connection; null means the installation's own endpoint. */
export interface ChosenModel {
  readonly model: string;
  readonly connection_id: string | null;
}

/** The model of a node; null if none is configured. */
export function chooseModel(choice: ModelChoice, { organisation, installation }: ModelDefaults): ChosenModel | null {
  const connection_id = choice.connection_id ?? organisation.default_connection_id;
  if (connection_id === null && installation.url === undefined) return null;
  const fallback = connection_id === null ? installation.model : undefined;
  const model = choice.model ?? organisation.default_model ?? fallback;
  return model === undefined ? null : { model, connection_id };
}

/** What to do if no model is configured. */
export const MODEL_WAY_OUT =
  "Set a default connection and model with PATCH /v2/settings, set `connection_id` and `model` in the node, or set MILLRACE_MODEL_URL and MILLRACE_MODEL";
