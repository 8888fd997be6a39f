import { queryClient } from '../../server-data/use-answer.ts';

/** Reports show a change of people immediately. */
export const refreshPeople = (): Promise<void> => queryClient.invalidateQueries();
