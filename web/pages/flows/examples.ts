/** An example flow, with the fields that the list shows. */
export interface ExampleFlow {
  readonly name: string;
  readonly description?: string;
}

/** The flows in `examples/flows`, compiled into this chunk, which is loaded when the examples are first shown. */
declare const EXAMPLE_FLOWS: readonly ExampleFlow[];
export const exampleFlows = EXAMPLE_FLOWS;
