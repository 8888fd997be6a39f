import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { toSubjectPath } from '../../format/dimensions.ts';
import { RenameRepositories } from '../../parts/rename-repositories.tsx';
import { useIsAdmin } from '../../server-data/use-shows.ts';

/** Renames or merges the repository of the page, for those who may; then opens the page of its new name. */
export function RenameButton({ name }: { name: string }): ReactNode {
  const isAdmin = useIsAdmin();
  const [isOpen, setIsOpen] = useState(false);
  const navigate = useNavigate();
  if (!isAdmin) return null;
  const open = (newName: string): void => {
    setIsOpen(false);
    const to = toSubjectPath({ name: 'repository' });
    void navigate({ to, search: (old: object) => ({ ...old, repository: newName }) } as never);
  };
  return (
    <>
      <button type="button" onClick={() => setIsOpen(true)}>
        Rename or merge…
      </button>
      {isOpen && <RenameRepositories names={[name]} close={() => setIsOpen(false)} done={open} />}
    </>
  );
}
