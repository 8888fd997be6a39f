import type { ReactNode } from 'react';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Answered } from '../../ui/states.tsx';

type Ids = readonly string[] | null;

/** Fields of a form for the destinations that get something; null stands for all. */
export function DestinationFields({ ids = null }: { ids?: Ids }): ReactNode {
  const destinations = useAnswer('/v1/destinations', {});
  return (
    <fieldset>
      <legend>Sends only to (none: all destinations)</legend>
      <Answered of={destinations}>
        {({ destinations: all }) =>
          all.length === 0 ? (
            <p className="muted">There are none yet: add them under Alerts.</p>
          ) : (
            all.map(({ id, name }) => (
              <label key={id} className="row">
                <input type="checkbox" name="destination" value={id} defaultChecked={ids?.includes(id) ?? false} />
                {name}
              </label>
            ))
          )
        }
      </Answered>
    </fieldset>
  );
}

/** The destinations that such a form says. */
export function readDestinations(data: FormData): string[] | null {
  const ids = data.getAll('destination').map(String);
  return ids.length === 0 ? null : ids;
}

/** Names of destinations, for those who may see them. */
export function DestinationNames({ ids }: { ids: Ids }): ReactNode {
  const { data } = useAnswer('/v1/destinations', {}, { isEnabled: ids !== null });
  if (ids === null) return 'all destinations';
  return ids.map((id) => data?.destinations.find((each) => each.id === id)?.name ?? '…').join(', ');
}
