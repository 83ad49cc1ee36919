/** Long work for the whole installation, on workers, with heartbeats that say where it is. */
export interface HouseActivities {
  /** Runs a purge by its name; returns how many items it has removed. */
  purge(input: { name: string }): Promise<number>;
  /** Continues an erasure for a turn; returns how long the next turn must wait (ms), or null if it is finished. */
  eraseForTurn(input: { erasure_id: string }): Promise<number | null>;
}
