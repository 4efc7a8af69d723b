// What is typed is looked for as the beginning of a word. A name comes before the longer names that begin like it, and
// the dashes before an option do not mean "without".
(function () {
  var post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, more) {
    if (message && typeof message.data === "string") {
      var words = message.data.replace(/(^|\s)-+(?=\S)/g, "$1").replace(/(\w{2,})$/, "$1^10 $1");
      message = Object.assign({}, message, { data: words });
    }
    return post.call(this, message, more);
  };
})();
