// Runs inside a copy of the report and leaves what it found in the page: see report.sh.
window.addEventListener('load', function () {
  var found = [], root = document.documentElement;
  function check(what, holds) { found.push((holds ? 'ok ' : 'FAILED ') + what); }
  function column(table, index) {
    return Array.from(table.tBodies[0].rows).filter(function (row) { return !row.hidden; })
      .map(function (row) { return Number(row.cells[index].getAttribute('data-v')); });
  }
  function ascends(list) {
    return list.every(function (value, i) { return i === 0 || list[i - 1] <= value; });
  }
  check('no script failed: ' + window.failures.join('; '), window.failures.length === 0);
  check('the page is no wider than the window', root.scrollWidth <= window.innerWidth);
  document.querySelectorAll('details').forEach(function (layer) { layer.open = true; });
  check('nor with every layer open', root.scrollWidth <= window.innerWidth);
  check('nothing was fetched', performance.getEntriesByType('resource').length === 0);

  var scripted = document.querySelector('thead button') !== null;
  check('scripts are ' + (window.wantsScript ? 'on' : 'off'), scripted === window.wantsScript);
  var table = document.querySelector('#union-table table');
  check('the table has lines', table.tBodies[0].rows.length > 1);
  if (scripted) {
    var headings = Array.from(table.tHead.rows[0].cells);
    var at = headings.findIndex(function (th) { return /UOR mean/.test(th.textContent); });
    var button = headings[at].querySelector('button');
    button.click();
    check('sorts upwards', ascends(column(table, at)));
    check('says so', headings[at].getAttribute('aria-sort') === 'ascending');
    button.click();
    check('sorts downwards', ascends(column(table, at).reverse()));
    var long = document.querySelector('#policies-table'), bar = long.previousElementSibling;
    var select = bar.querySelector('select'), lines = long.querySelectorAll('tbody tr');
    select.selectedIndex = 1;
    select.dispatchEvent(new Event('change'));
    var shown = Array.from(lines).filter(function (row) { return !row.hidden; });
    check('filters', shown.length > 0 && shown.length < lines.length &&
      shown.every(function (row) { return row.cells[0].textContent === select.value; }));
    check('counts what is shown', bar.textContent.indexOf(shown.length + ' of ' + lines.length) >= 0);
  }
  var unseen = 0, reached = 0;
  document.querySelectorAll('a, button, select, summary, [tabindex="0"]').forEach(function (place) {
    place.focus({ focusVisible: true });
    if (document.activeElement !== place) return;
    reached++;
    if (parseFloat(getComputedStyle(place).outlineWidth) < 2 ||
        getComputedStyle(place).outlineStyle === 'none') unseen++;
  });
  check('focus is seen in all of ' + reached + ' places', reached > 20 && unseen === 0);
  var result = document.createElement('pre');
  result.id = 'probe';
  result.textContent = '\n' + found.join('\n') + '\n';
  document.body.appendChild(result);
});
