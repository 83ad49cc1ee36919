/** An activity, whatever it takes and returns. */
export type Work = (input: unknown) => Promise<unknown>;

/** Wraps each activity. */
export function wrapEach<Activities extends object>(
  activities: Activities,
  wrap: (work: Work, name: string) => Work,
): Activities {
  const wrapped = Object.entries(activities).map(([name, work]: [string, Work]) => [name, wrap(work, name)] as const);
  return Object.fromEntries(wrapped) as Activities;
}
