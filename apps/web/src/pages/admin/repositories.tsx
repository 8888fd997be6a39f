import { toVisible } from '@recount/contract/conversation';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { NO_VIEW, toSubjectPath } from '../../format/dimensions.ts';
import { RenameRepositories } from '../../parts/rename-repositories.tsx';
import type { Answer } from '../../server-data/client.ts';
import { queryClient, useAnswer } from '../../server-data/use-answer.ts';
import { useIsAdmin } from '../../server-data/use-shows.ts';
import { Count, Money, Time } from '../../ui/figures.tsx';
import type { PlainColumn } from '../../ui/plain-table.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { RepositoryRenames } from './repository-renames.tsx';
import { WideTable } from './wide-table.tsx';

type Repository = Answer<'/v1/repositories'>['repositories'][number];

const MAX_ROWS = 1000;
const MAX_SELECTED = 100;
/** While stored sessions follow a renaming. */
const FOLLOWING_MS = 1500;

const COLUMNS: readonly PlainColumn<Repository>[] = [
  {
    head: 'Repository',
    className: 'wraps',
    cell: ({ name }) => (
      <Link
        to={toSubjectPath({ name: 'repository' }) as never}
        search={{ ...NO_VIEW, period: 'all', repository: name, view: undefined } as never}
      >
        {toVisible(name)}
      </Link>
    ),
  },
  { head: 'Last activity', cell: ({ last_activity }) => <Time iso={last_activity} /> },
  { head: 'Sessions', isFigure: true, cell: ({ sessions }) => <Count value={sessions} /> },
  { head: 'People', isFigure: true, cell: ({ people }) => <Count value={people} /> },
  { head: 'Cost', isFigure: true, cell: ({ cost_usd }) => <Money value={cost_usd} /> },
];

/** The workspace's repositories, to be renamed and merged; and what is renamed, to be undone. */
export function Repositories(): ReactNode {
  const isAdmin = useIsAdmin();
  const renames = useAnswer('/v1/repository-renames', {}, { refetchIntervalMs: (answer) => toInterval(answer) });
  const isFollowing = toInterval(renames.data) > 0;
  useEffect(() => {
    // Both when it begins and when it ends.
    void queryClient.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== '/v1/repository-renames' });
  }, [isFollowing]);
  return (
    <section aria-labelledby="repositories">
      <h2 id="repositories">Repositories</h2>
      <p className="muted">
        Worktrees and clones count as one repository by themselves. Rename or merge what has several names, such as a
        repository that moved. Cost is at list prices, of all time.
      </p>
      <RepositoryTable isAdmin={isAdmin} />
      <h3>Renamed and merged</h3>
      <Answered of={renames}>{({ renames: all }) => <RepositoryRenames renames={all} isAdmin={isAdmin} />}</Answered>
    </section>
  );
}

const toInterval = (answer: Answer<'/v1/repository-renames'> | undefined): number =>
  answer?.renames.some(({ applied_at }) => applied_at === null) ? FOLLOWING_MS : 0;

function RepositoryTable({ isAdmin }: { isAdmin: boolean }): ReactNode {
  const list = useAnswer('/v1/repositories', { limit: MAX_ROWS });
  const [selected, setSelected] = useState<readonly string[]>([]);
  const [isAsked, setIsAsked] = useState(false);
  const [wanted, setWanted] = useState('');
  const toggle = (name: string): void =>
    setSelected(selected.includes(name) ? selected.filter((each) => each !== name) : [...selected, name]);
  const select: PlainColumn<Repository> = {
    head: 'Select',
    cell: ({ name }) => (
      <input
        type="checkbox"
        aria-label={`Select ${name}`}
        checked={selected.includes(name)}
        onChange={() => toggle(name)}
      />
    ),
  };
  const columns = isAdmin ? [select, ...COLUMNS] : COLUMNS;
  return (
    <Answered of={list}>
      {({ repositories, truncated }) => {
        if (repositories.length === 0) return <Empty title="No repositories yet" />;
        const shown = repositories.filter(({ name }) => name.toLowerCase().includes(wanted.trim().toLowerCase()));
        const chosen = repositories.map(({ name }) => name).filter((name) => selected.includes(name));
        return (
          <>
            <div className="row">
              <input
                type="search"
                aria-label="Find a repository"
                placeholder="Find a repository"
                value={wanted}
                onChange={({ target }) => setWanted(target.value)}
              />
              {isAdmin && (
                <button
                  type="button"
                  disabled={chosen.length === 0 || chosen.length > MAX_SELECTED}
                  onClick={() => setIsAsked(true)}
                >
                  {chosen.length > 1 ? `Merge ${chosen.length} into…` : 'Rename or merge…'}
                </button>
              )}
            </div>
            <WideTable label="All repositories" columns={columns} rows={shown} toKey={({ name }) => name} />
            {truncated && <p className="muted">These are the {MAX_ROWS} most expensive ones.</p>}
            {isAsked && chosen.length > 0 && (
              <RenameRepositories
                names={chosen}
                close={() => setIsAsked(false)}
                done={() => {
                  setIsAsked(false);
                  setSelected([]);
                }}
              />
            )}
          </>
        );
      }}
    </Answered>
  );
}
