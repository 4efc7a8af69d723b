// The pages of the reference take the colours that the reader has chosen on the other pages, or else the system's. The
// theme keeps the choice under the path of the site.
(function () {
  var chosen = null;
  try {
    chosen = JSON.parse(localStorage.getItem(new URL("..", location.href).pathname + ".__palette"));
  } catch (e) {
    // A browser may keep nothing for a page that comes from a file.
  }
  var dark = chosen && chosen.color ? chosen.color.scheme === "slate"
                                    : matchMedia("(prefers-color-scheme: dark)").matches;
  if (dark) document.documentElement.className = "dark";
})();
