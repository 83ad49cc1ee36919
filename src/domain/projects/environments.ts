/** The environment of every call that names none; its version is the published one. */
export const PRODUCTION = "production";

/** The environments that every project has from the start. */
export const DEFAULT_ENVIRONMENTS: readonly string[] = ["development", "staging", PRODUCTION];

/** What an environment may be called; `draft` is not one. */
export const ENVIRONMENT_NAME = /^(?!draft$)[a-z0-9][a-z0-9-]{0,63}$/;

export const MAX_ENVIRONMENTS = 20;

/** Connection IDs of a flow, and the connections that an environment uses in their place. */
export type Bindings = Readonly<Record<string, string>>;

/** What a new run keeps of the environment that it runs in. */
export interface RunEnvironment {
  readonly name: string;
  /** The promotion whose connections replace those of the flow; null if it replaces none. */
  readonly bindings_id: string | null;
}
