import './subject.css';
import type { ReactNode } from 'react';
import type { View } from '../../parts/use-view.ts';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Pending } from '../../ui/states.tsx';
import { Matrix } from './matrix.tsx';
import { chooseWholeMatrix, measureOf, type Subject } from './subject.ts';

const MAX_CELLS = 1000;

/** People by model, or by repository, of everything that passes the page's filters. */
export function WholeMatrix({ subject, view }: { subject: Subject; view: View }): ReactNode {
  const dimensions = chooseWholeMatrix(subject);
  const names = dimensions.map(({ name }) => name);
  const breakdown = [...names, names.join()];
  const report = useAnswer('/v1/analytics/usage', { ...view.query, group_by: '', breakdown, limit: MAX_CELLS });
  if (report.data === undefined) return report.isLoading ? <Pending /> : null;
  return (
    <div className="subject-page">
      <Matrix
        place={{ subject, values: [], view }}
        answer={report.data}
        dimensions={dimensions}
        figure={measureOf(subject).main}
        asked={{ filters: report.data.filters, time: view.time }}
      />
    </div>
  );
}
