// Tables that sort and filter. The page is whole without this.
(function () {
  'use strict';
  var longTable = 24, mostChoices = 40, preselectFrom = 80;

  function value(row, column) {
    var cell = row.cells[column], number = cell.getAttribute('data-v');
    var text = cell.textContent.trim();
    if (number === null && text !== '' && isFinite(text)) number = text;
    return number !== null ? Number(number) : text;
  }

  // Cells without a value ("–") stay last in either direction.
  function compare(a, b) {
    var noA = a === '–', noB = b === '–';
    if (noA || noB) return noA - noB || 0;
    if (typeof a === 'number' && typeof b === 'number') return a - b;
    return String(a).localeCompare(String(b), 'en', { numeric: true });
  }

  function sortBy(table, column, heading) {
    var down = heading.getAttribute('aria-sort') === 'ascending';
    var body = table.tBodies[0], rows = Array.from(body.rows);
    rows.sort(function (a, b) {
      var x = value(a, column), y = value(b, column);
      if (x === '–' || y === '–') return compare(x, y);
      return down ? compare(y, x) : compare(x, y);
    });
    table.querySelectorAll('th[aria-sort]').forEach(function (other) {
      other.removeAttribute('aria-sort');
    });
    heading.setAttribute('aria-sort', down ? 'descending' : 'ascending');
    rows.forEach(function (row) { body.appendChild(row); });
  }

  function makeSortable(table) {
    Array.from(table.tHead.rows[0].cells).forEach(function (heading, column) {
      var button = document.createElement('button');
      button.type = 'button';
      button.textContent = heading.textContent;
      button.addEventListener('click', function () { sortBy(table, column, heading); });
      heading.textContent = '';
      heading.appendChild(button);
    });
  }

  function choicesOf(table, column) {
    var seen = [];
    Array.from(table.tBodies[0].rows).forEach(function (row) {
      var text = row.cells[column].textContent;
      if (seen.indexOf(text) < 0) seen.push(text);
    });
    return seen;
  }

  function makeFilters(table) {
    var rows = Array.from(table.tBodies[0].rows), box = table.parentNode, wanted = {};
    if (rows.length < longTable) return;
    var bar = document.createElement('div'), count = document.createElement('span');
    bar.className = 'filters';
    count.setAttribute('role', 'status');
    function apply() {
      var shown = 0;
      rows.forEach(function (row) {
        var show = Object.keys(wanted).every(function (column) {
          return wanted[column] === '' || row.cells[column].textContent === wanted[column];
        });
        row.hidden = !show;
        shown += show;
      });
      count.textContent = shown + ' of ' + rows.length + ' lines';
    }
    Array.from(table.tHead.rows[0].cells).forEach(function (heading, column) {
      if (!heading.hasAttribute('data-key')) return;
      var choices = choicesOf(table, column), name = heading.textContent;
      if (choices.length < 2 || choices.length > mostChoices) return;
      var label = document.createElement('label'), select = document.createElement('select');
      label.append(name, select);
      select.add(new Option('all', ''));
      choices.forEach(function (choice) { select.add(new Option(choice, choice)); });
      if (rows.length >= preselectFrom && name === 'budget')
        select.value = choices[Math.floor((choices.length - 1) / 2)];
      if (rows.length >= preselectFrom && name === 'page size') select.value = choices[0];
      wanted[column] = select.value;
      select.addEventListener('change', function () { wanted[column] = select.value; apply(); });
      bar.append(label);
    });
    bar.append(count);
    box.parentNode.insertBefore(bar, box);
    apply();
  }

  document.querySelectorAll('.scroll table').forEach(function (table) {
    makeFilters(table);
    makeSortable(table);
  });

  // Paper has room for every layer, and no filter.
  window.addEventListener('beforeprint', function () {
    document.querySelectorAll('tr[hidden]').forEach(function (row) {
      row.hidden = false;
      row.dataset.hid = '';
    });
  });
  window.addEventListener('afterprint', function () {
    document.querySelectorAll('tr[data-hid]').forEach(function (row) {
      row.hidden = true;
      delete row.dataset.hid;
    });
  });
})();
