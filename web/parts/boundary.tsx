import { Component } from "react";
import type { ReactNode } from "react";
import { Empty } from "./states.tsx";

interface Props {
  readonly children: ReactNode;
  /** What is kept from failing further, as in `The ${this.props.what} broke`. */
  readonly what: string;
  /** Where one is. Elsewhere it is tried anew; what works is not taken apart. */
  readonly place: string;
}

interface State {
  readonly error: unknown;
  readonly place: string;
}

/**
 * Limits a failure to one part of the page. A part whose chunk is gone belongs to a version that was replaced
 * meanwhile.
 */
export class Boundary extends Component<Props, State> {
  override state: State = { error: undefined, place: this.props.place };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error };
  }

  static getDerivedStateFromProps({ place }: Props, state: State): State | null {
    return place === state.place ? null : { error: undefined, place };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    const text = error instanceof Error ? error.message : "It did not say why.";
    const isOld = /dynamically imported module|Importing a module script/.test(text);
    return (
      <Empty
        title={isOld ? "There is a new version" : `The ${this.props.what} broke`}
        action={
          <button type="button" className="button button-primary" onClick={() => location.reload()}>
            Load the page anew
          </button>
        }
      >
        {isOld ? "The console has been updated since this tab was opened." : text}
      </Empty>
    );
  }
}
